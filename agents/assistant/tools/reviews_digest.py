from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database, periods
from example_app.assistant import opinions
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")
    category = parameters.category()
    most_stars = parameters.number_of("Quote reviews of at most so many stars", 3, 1, 5)
    author = fields.String(
        validate=validate.Length(1, 80), metadata={"description": "Quote only this author, e.g. 'Jonas V'"}
    )
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
    bad = [review for review in found.reviews if _is_quoted(review, params)]
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


def _is_quoted(review, params):
    author = params.get("author", "").casefold()
    return review.stars <= params["most_stars"] and review.author.casefold().startswith(author)


def _quote(review):
    return {
        "review_id": review.id,
        "product": review.product,
        "sku": review.sku,
        "stars": review.stars,
        "text": review.text,
        "author": review.author,
        "written_on": review.written_on,
        "our_reply": review.reply,
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
