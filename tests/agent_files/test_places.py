"""Where an app's agents are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from flask_litro_agent.agent_files import find_folder
from flask_litro_agent.errors import ConfigurationError


def package(*parents: Path) -> None:
    for parent in parents:
        parent.mkdir(parents=True, exist_ok=True)
        (parent / "__init__.py").touch()


def agents(place: Path, *, with_agent: bool = True) -> Path:
    folder = place / "agents"
    (folder / "demo").mkdir(parents=True)
    if with_agent:
        (folder / "demo" / "agent.py").touch()
    return folder


def app_in(root: Path) -> Flask:
    root.mkdir(parents=True, exist_ok=True)
    return Flask("shop", root_path=str(root))


def test_beside_the_package_of_the_app(tmp_path: Path) -> None:
    package(tmp_path / "shop")
    folder = agents(tmp_path)
    assert find_folder(app_in(tmp_path / "shop"), None) == folder


def test_inside_the_package_before_beside_it(tmp_path: Path) -> None:
    package(tmp_path / "shop")
    agents(tmp_path)
    folder = agents(tmp_path / "shop")
    assert find_folder(app_in(tmp_path / "shop"), None) == folder


def test_beside_the_outermost_package(tmp_path: Path) -> None:
    package(tmp_path / "company", tmp_path / "company" / "shop")
    folder = agents(tmp_path)
    assert find_folder(app_in(tmp_path / "company" / "shop"), None) == folder


def test_beside_the_module_of_an_app_that_is_no_package(tmp_path: Path) -> None:
    agents(tmp_path.parent / f"{tmp_path.name}-other")
    folder = agents(tmp_path)
    assert find_folder(app_in(tmp_path), None) == folder


def test_an_app_that_is_no_package_does_not_look_outside_of_its_folder(tmp_path: Path) -> None:
    agents(tmp_path)
    with pytest.raises(ConfigurationError, match="no agents folder"):
        find_folder(app_in(tmp_path / "site"), None)


def test_a_folder_with_agents_wins_over_one_that_only_has_the_name(tmp_path: Path) -> None:
    package(tmp_path / "shop")
    agents(tmp_path / "shop", with_agent=False)
    folder = agents(tmp_path)
    assert find_folder(app_in(tmp_path / "shop"), None) == folder


def test_without_any_agent_the_first_folder_is_taken_and_will_tell_its_faults(tmp_path: Path) -> None:
    package(tmp_path / "shop")
    folder = agents(tmp_path / "shop", with_agent=False)
    agents(tmp_path, with_agent=False)
    assert find_folder(app_in(tmp_path / "shop"), None) == folder


def test_none_found_says_where_it_looked(tmp_path: Path) -> None:
    package(tmp_path / "shop")
    with pytest.raises(ConfigurationError) as caught:
        find_folder(app_in(tmp_path / "shop"), None)
    assert caught.value.faults == (
        f"no agents folder: looked for {tmp_path}/shop/agents and {tmp_path}/agents;"
        " LITRO_AGENTS names another place",
    )


def test_the_setting_is_relative_to_the_root_path_of_the_app(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    assert find_folder(app_in(tmp_path / "shop"), "../bots") == tmp_path / "shop" / ".." / "bots"


def test_the_setting_may_be_an_absolute_path_and_wins(tmp_path: Path) -> None:
    agents(tmp_path)
    (tmp_path / "bots").mkdir()
    assert find_folder(app_in(tmp_path), str(tmp_path / "bots")) == tmp_path / "bots"


def test_a_setting_that_names_no_folder_is_a_fault(tmp_path: Path) -> None:
    agents(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        find_folder(app_in(tmp_path), "bots")
    assert caught.value.faults == (f"LITRO_AGENTS: there is no folder {tmp_path}/bots",)
