from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import opinions
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")
    category = parameters.category()
    most_stars = parameters.number_of("Quote reviews of at most so many stars", 3, 1, 5)
    limit = parameters.limit(6)


@tool(
    description="What buyers wrote in a period: how many reviews, the mean against before, the worst in their own"
    " words, and the products whose rating has fallen.",
    permission="shop:reviews",
    mode=Mode.READ,
    params=Params,
)
def reviews_digest(params, ctx):
    period = periods.named(params["period"], date.today())
    found = opinions.digest(database.connection(), period, params.get("category"))
    bad = [review for review in found.reviews if review.stars <= params["most_stars"]]
    return {
        "period": period.name,
        "reviews": len(found.reviews),
        "mean": _rounded(found.mean),
        "mean_before": _rounded(found.mean_before),
        "by_stars": {str(stars): count for stars, count in found.stars.items()},
        "total_quoted": len(bad),
        "quotes": [_quote(review) for review in bad[: params["limit"]]],
        "total_fallen": len(found.fallen),
        "fallen": [_fallen(rated) for rated in found.fallen[: params["limit"]]],
    }


def _quote(review):
    return {
        "product": review.product,
        "sku": review.sku,
        "stars": review.stars,
        "text": review.text,
        "author": review.author,
        "written_on": review.written_on,
    }


def _fallen(rated):
    return {
        "product": rated.product,
        "reviews": rated.reviews,
        "mean": _rounded(rated.mean),
        "mean_before": _rounded(rated.mean_before),
    }


def _rounded(mean):
    return None if mean is None else round(mean, 2)
