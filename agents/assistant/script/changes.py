"""What the assistant's script understands as the wish for a change; the earlier one counts when two would fit."""

from __future__ import annotations

from ..._shared.script.brain import Skill
from ..._shared.script.deliveries import ADDRESS_ASKS, HOLD_ASKS, change_address, hold_order
from .content import change_product_text, publish_collection, unpublish_collection
from .favours import goodwill_credit, reply_to_review, withdraw_credit
from .goods import receive_return, transfer_stock
from .price_lists import change_prices
from .purchases import order_from_supplier
from .values import cancel_order, change_price, correct_stock, refund_order
from .writing import add_customer_note, draft_email, save_collection

__all__ = ["CHANGES"]

CHANGES = (
    Skill(
        tool="refund_order",
        needs=("order_details",),
        asks=(
            r"^(?:please |can you |could you |would you )?(?:refund|reimburse)",
            r"(?:refund|reimburse|pay back|give back|money back)\b.*\d",
            r"(?:order|#) ?#?\d{4,6}.*\b(?:refund(?:ed)?|reimbursed?|money back|paid back)",
            r"(?:give|grant|issue|propose|make) .*\brefund",
        ),
        play=refund_order,
        example="Refund 20 euros for order 1104 because the zip broke",
        opening="I'll open the order.",
        changes=True,
    ),
    Skill(
        tool="withdraw_credit",
        needs=("find_customers", "customer_details"),
        asks=(r"(?:withdraw|take back|revoke|remove|cancel) (?:the |his |her |that )?credit\b.*",),
        play=withdraw_credit,
        example="Withdraw the credit of Anna Berg because it was given twice",
        opening="I'll look it up.",
        changes=True,
    ),
    Skill(
        tool="goodwill_credit",
        needs=("find_customers",),
        asks=(
            r"(?:give|grant|offer|propose|issue|make) .*\b(?:credit|goodwill)\b.*",
            r"goodwill (?:credit )?(?:of|for|to) .*|credit (?!card)\w+ \w+ .*\d.*",
        ),
        play=goodwill_credit,
        example="Give Anna Berg 15 euros of credit because the parcel was late",
        opening="I'll look up the customer.",
        changes=True,
    ),
    Skill(
        tool="reply_to_review",
        needs=("reviews_digest",),
        asks=(r"(?:reply|answer|respond|write a reply) (?:publicly )?to .*\breview\b.*",),
        play=reply_to_review,
        example="Reply to the review by Jonas V.: thank you, we have told our workshop",
        opening="I'll look for the review.",
        changes=True,
    ),
    Skill(
        tool="order_from_supplier",
        needs=("product_details", "reorder_plan"),
        asks=(
            r"^(?:please |can you |could you )?(?:re-?order|order|buy|purchase) (?:\d{1,3} [a-z].*|.*\bfrom\b .*)",
        ),
        play=order_from_supplier,
        example="Order 12 Trek 65",
        opening="I'll look at what the suppliers have.",
        changes=True,
    ),
    Skill(
        tool="cancel_order",
        needs=("order_details",),
        asks=(
            r"(?:cancel|call off|annul) (?:the |this |that |my )?(?:order|it$|it because|#?\d{4})",
            r"order (?:number |no |nr )?#?\d{4,6} (?:should|shall|must|is to) be cancell?ed",
        ),
        play=cancel_order,
        example="Cancel order 1120 because it was ordered twice",
        opening="I'll open the order.",
        changes=True,
    ),
    Skill(
        tool="change_product_text",
        needs=("product_details",),
        asks=(
            r"^(?:please |can you |could you )?(?:change|rewrite|replace|update|set|edit|write)"
            r" (?:the |a |its )?(?:new |product )?(?:text|description|copy)\b",
        ),
        play=change_product_text,
        example="Change the text of the Trek 65: A pack for weeks on the trail",
        opening="I'll read what is there.",
        changes=True,
    ),
    Skill(
        tool="change_prices",
        needs=("product_details", "find_products"),
        asks=(
            r"(?:change|set|lower|raise|reduce|increase|drop|cut|put|make|update|propose) .*\bprices\b.*",
            r"(?:lower|raise|reduce|increase|discount|mark down|cut) (?:all|every|everything)\b.*",
        ),
        play=change_prices,
        example="Lower the prices of all tents by 10 %",
        opening="I'll collect the price tags.",
        changes=True,
    ),
    Skill(
        tool="change_price",
        needs=("product_details",),
        asks=(
            r"(?:change|set|lower|raise|reduce|increase|drop|cut|put|make|update|propose) .*\bprice\b.*",
            r"(?:lower|raise|reduce|discount|mark down|mark) .*\b(?:to|by|at) (?:€ ?)?\d.*",
            r"price of .*\b(?:should be|to) .*\d|(?:make|let) .*\bcost .*\d",
        ),
        play=change_price,
        example="Set the price of the Trek 65 to 199 euros",
        opening="I'll look at the price tag.",
        changes=True,
    ),
    Skill(
        tool="receive_return",
        needs=("order_details",),
        asks=(
            r"(?:receive|book in|take in|check in|accept|register) .*\breturn\b.*",
            r"return of .*\b(?:has arrived|arrived|is here|came in|has come in)",
        ),
        play=receive_return,
        example="Book in the return of order 1104",
        opening="I'll open the order.",
        changes=True,
    ),
    Skill(
        tool="transfer_stock",
        needs=("product_details",),
        asks=(
            r"(?:transfer|move|bring|shift|send) \d{1,3} .*",
            r"(?:transfer|move|shift) .*\b(?:stock|pieces|from|to)\b.*",
        ),
        play=transfer_stock,
        example="Transfer 2 Trek 65 from Leipzig to Berlin",
        opening="I'll look at the shelves.",
        changes=True,
    ),
    Skill(
        tool="correct_stock",
        needs=("product_details",),
        asks=(
            r"(?:correct|set|adjust|fix|update|change) .*\b(?:stock|inventory|count|quantity)",
            r"(?:stock|inventory|count) .*\b(?:should be|is wrong)|(?:i|we) (?:have )?counted .*",
        ),
        play=correct_stock,
        example="Correct the stock of the Trek 65 in Leipzig to 7",
        opening="I'll look at the shelf.",
        changes=True,
    ),
    Skill(
        tool="unpublish_collection",
        asks=(r"(?:unpublish|hide|take down|take off|withdraw|remove|take) .*\bcollection",),
        play=unpublish_collection,
        example="Hide the collection Wet days",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="publish_collection",
        asks=(
            r"(?:publish|unhide|show|put|launch) (?:the|our|that|this|my) (?!.*\b(?:with|of|from)\b).*\bcollection",
            r"(?:publish|unhide|show|put|launch) (?:the|our|that|this|my) collection\b(?!.*\b(?:with|of)\b)",
        ),
        play=publish_collection,
        example="Publish the collection Wet days",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="save_collection",
        needs=("find_products",),
        asks=(r"(?:make|create|build|start|publish|save|put together|propose|new) .*\bcollection",),
        play=save_collection,
        example="Make a collection called Wet days with waterproof jackets",
        opening="I'll gather what fits.",
        changes=True,
    ),
    Skill(
        tool="change_address",
        asks=ADDRESS_ASKS,
        play=change_address,
        example="Change the address of order 1120 to Am Markt 1, 07743 Jena, Germany",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="hold_order",
        asks=HOLD_ASKS,
        play=hold_order,
        example="Hold order 1120",
        opening="I'll ask for that.",
        changes=True,
    ),
    Skill(
        tool="draft_email",
        needs=("find_customers",),
        asks=(r"(?:draft|write|prepare|compose) .*\b(?:e-?mail|mail|letter|message)",),
        play=draft_email,
        example="Draft an e-mail to Anna Berg: your parcel is late",
        opening="I'll look up the customer.",
        changes=True,
    ),
    Skill(
        tool="add_customer_note",
        needs=("find_customers",),
        asks=(r"(?:add|write|make|leave|put|propose) .*\bnote", r"note (?:on|about|for|to)"),
        play=add_customer_note,
        example="Add a note about Anna Berg: prefers e-mail",
        opening="I'll look up the customer.",
        changes=True,
    ),
)
