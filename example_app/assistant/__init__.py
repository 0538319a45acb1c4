"""What the people who run the shop ask week by week: each module answers one kind of question from the tables.

Cancelled orders are no sales. Money is in cents; turnover is what the customer paid for goods, VAT included.
"""
