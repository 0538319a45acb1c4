"""Agents from files: finds an app's agents folder, loads every agent in it, and watches it while developing."""

from flask_litro_agent.agent_files.agents import draft_agents, load_agents
from flask_litro_agent.agent_files.places import find_folder
from flask_litro_agent.agent_files.watch import watch_folder

__all__ = ["draft_agents", "find_folder", "load_agents", "watch_folder"]
