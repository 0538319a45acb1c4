-- The shop's tables. Money is in integer cents of a euro, days are ISO dates, times are ISO date-times in UTC.
CREATE TABLE product (
    sku TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    family TEXT NOT NULL,
    category TEXT NOT NULL,
    colour TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    weight_g INTEGER NOT NULL CHECK (weight_g > 0),
    capacity TEXT NOT NULL,
    persons INTEGER,
    comfort_c INTEGER,
    waterproof INTEGER NOT NULL CHECK (waterproof IN (0, 1)),
    description TEXT NOT NULL
);
CREATE INDEX product_category ON product (category);

CREATE TABLE place (
    city TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('warehouse', 'store')),
    address TEXT NOT NULL
);
CREATE TABLE opening (
    city TEXT NOT NULL REFERENCES place,
    weekday INTEGER NOT NULL CHECK (weekday BETWEEN 0 AND 6),
    opens TEXT NOT NULL,
    closes TEXT NOT NULL,
    PRIMARY KEY (city, weekday)
);
CREATE TABLE stock (
    sku TEXT NOT NULL REFERENCES product,
    city TEXT NOT NULL REFERENCES place,
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    reorder_level INTEGER NOT NULL CHECK (reorder_level >= 0),
    PRIMARY KEY (sku, city)
);

CREATE TABLE supplier (
    name TEXT PRIMARY KEY,
    lead_days INTEGER NOT NULL CHECK (lead_days > 0)
);
-- Who makes a product, what it costs us without VAT, and how many lie in a box.
CREATE TABLE supply (
    sku TEXT PRIMARY KEY REFERENCES product,
    supplier TEXT NOT NULL REFERENCES supplier,
    cost_cents INTEGER NOT NULL CHECK (cost_cents > 0),
    box INTEGER NOT NULL CHECK (box > 0)
);

CREATE TABLE customer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    member_since TEXT NOT NULL
);
CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('customer', 'support', 'operator')),
    password_hash TEXT NOT NULL,
    customer_id INTEGER REFERENCES customer
);

CREATE TABLE orders (
    number INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer,
    placed_on TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('paid', 'packed', 'shipped', 'delivered', 'cancelled')),
    shipping_cents INTEGER NOT NULL CHECK (shipping_cents >= 0),
    placed_at TEXT NOT NULL, -- the shop's own clock, as 19:42
    ships_to TEXT NOT NULL
);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_placed ON orders (placed_on);
CREATE TABLE order_line (
    number INTEGER NOT NULL REFERENCES orders,
    position INTEGER NOT NULL,
    sku TEXT NOT NULL REFERENCES product,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_cents INTEGER NOT NULL CHECK (unit_cents > 0),
    PRIMARY KEY (number, position)
);
-- Every attempt to pay is a row: failed ones stay, and an invoice is open until its money has come.
CREATE TABLE payment (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    method TEXT NOT NULL CHECK (method IN ('card', 'wallet', 'invoice', 'transfer')),
    state TEXT NOT NULL CHECK (state IN ('open', 'failed', 'captured', 'disputed', 'returned')),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    happened_on TEXT NOT NULL
);
CREATE INDEX payment_number ON payment (number);
CREATE TABLE shipment (
    number INTEGER PRIMARY KEY REFERENCES orders,
    carrier TEXT NOT NULL,
    tracking_code TEXT NOT NULL UNIQUE,
    shipped_on TEXT NOT NULL,
    expected_on TEXT NOT NULL,
    delivered_on TEXT,
    last_seen TEXT NOT NULL
);
CREATE TABLE return_case (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    sku TEXT NOT NULL REFERENCES product,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    reason TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('opened', 'received', 'refunded', 'declined')),
    opened_on TEXT NOT NULL,
    refund_cents INTEGER NOT NULL CHECK (refund_cents >= 0)
);

CREATE TABLE review (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES product,
    author TEXT NOT NULL,
    stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
    text TEXT NOT NULL,
    written_on TEXT NOT NULL
);
-- What customers write to us; an answer has its day and its author.
CREATE TABLE message (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer,
    number INTEGER REFERENCES orders,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    received_on TEXT NOT NULL,
    answered_on TEXT,
    answered_by TEXT
);
CREATE TABLE shipping_rate (
    country TEXT PRIMARY KEY,
    standard_cents INTEGER NOT NULL,
    express_cents INTEGER NOT NULL,
    free_from_cents INTEGER NOT NULL,
    standard_days TEXT NOT NULL,
    express_days TEXT NOT NULL
);
-- The VAT that is in a price, in hundredths of a percent; none where we export to.
CREATE TABLE vat_rate (
    country TEXT PRIMARY KEY,
    rate INTEGER NOT NULL CHECK (rate BETWEEN 0 AND 5000)
);
CREATE TABLE policy (
    topic TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    text TEXT NOT NULL
);

-- The lines that count as sold, with what stays of them without VAT and what the goods cost us, by today's purchase price.
CREATE VIEW sale AS
SELECT number, position, customer_id, placed_on, placed_at, sku, product.name || ', ' || colour AS product, category,
       quantity, quantity * unit_cents AS goods_cents,
       CAST(round(quantity * unit_cents * 10000.0 / (10000 + rate)) AS INTEGER) AS net_cents,
       quantity * cost_cents AS cost_cents
FROM orders JOIN order_line USING (number) JOIN product USING (sku) JOIN supply USING (sku)
     JOIN customer ON customer.id = customer_id JOIN vat_rate USING (country)
WHERE status <> 'cancelled';
-- Every order with its value, the cancelled ones too.
CREATE VIEW order_value AS
SELECT number, customer_id, placed_on, placed_at, status, ships_to, sum(quantity) AS pieces,
       shipping_cents, sum(quantity * unit_cents) AS goods_cents,
       shipping_cents + sum(quantity * unit_cents) AS total_cents
FROM orders JOIN order_line USING (number) GROUP BY number;

-- Changes: rows are only added, each once by its key.
CREATE TABLE refund (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    reason TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE stock_movement (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES product,
    city TEXT NOT NULL REFERENCES place,
    before INTEGER NOT NULL,
    after INTEGER NOT NULL CHECK (after >= 0),
    kind TEXT NOT NULL DEFAULT 'count' CHECK (kind IN ('count', 'delivery', 'damage', 'transfer', 'return')),
    reason TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE order_cancellation (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    reason TEXT NOT NULL,
    refunded_cents INTEGER NOT NULL CHECK (refunded_cents >= 0),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
-- Both ends of a transfer are a stock_movement of their own.
CREATE TABLE stock_transfer (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES product,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    from_city TEXT NOT NULL REFERENCES place,
    to_city TEXT NOT NULL REFERENCES place CHECK (to_city <> from_city),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE return_receipt (
    id INTEGER PRIMARY KEY,
    case_id INTEGER NOT NULL REFERENCES return_case,
    city TEXT NOT NULL REFERENCES place,
    to_shelf INTEGER NOT NULL CHECK (to_shelf IN (0, 1)),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE credit (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    reason TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE credit_withdrawal (
    id INTEGER PRIMARY KEY,
    credit_id INTEGER NOT NULL UNIQUE REFERENCES credit,
    reason TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY,
    supplier TEXT NOT NULL REFERENCES supplier,
    city TEXT NOT NULL REFERENCES place,
    cost_cents INTEGER NOT NULL CHECK (cost_cents > 0),
    expected_on TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE purchase_line (
    purchase_id INTEGER NOT NULL REFERENCES purchase,
    sku TEXT NOT NULL REFERENCES product,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_cents INTEGER NOT NULL CHECK (unit_cents > 0),
    PRIMARY KEY (purchase_id, sku)
);
CREATE TABLE review_reply (
    id INTEGER PRIMARY KEY,
    review_id INTEGER NOT NULL REFERENCES review,
    text TEXT, -- NULL takes the reply away
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE price_change (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES product,
    before_cents INTEGER NOT NULL,
    after_cents INTEGER NOT NULL CHECK (after_cents > 0),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
-- A list of prices that changed together; each product's own row is a price_change.
CREATE TABLE price_list (
    id INTEGER PRIMARY KEY,
    products INTEGER NOT NULL CHECK (products > 0),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE text_change (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES product,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE collection_version (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    skus TEXT NOT NULL,
    published INTEGER NOT NULL CHECK (published IN (0, 1)),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE order_hold (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    held INTEGER NOT NULL CHECK (held IN (0, 1)),
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE address_change (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL REFERENCES orders,
    address TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer,
    text TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
CREATE TABLE email_draft (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    asked_by TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    made_at TEXT NOT NULL
);
