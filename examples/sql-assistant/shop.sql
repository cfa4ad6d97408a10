-- A small furniture and household shop, the same on every machine.
--
-- Nothing here asks for the time or for chance: the shop's day is the one row of `calendar`, and what
-- looks random comes from a fixed sequence of numbers. The figures hang together: an order's total is
-- the sum of its items, what leaves a warehouse is what was ordered, and what is on hand is the sum of
-- the movements.

BEGIN;

CREATE TABLE calendar (
    today TEXT NOT NULL                         -- the shop's day; the data ends here
);
INSERT INTO calendar VALUES ('2026-06-30');

CREATE TABLE customers (
    customer_id   INTEGER PRIMARY KEY,          -- in the order of signing up
    name          TEXT NOT NULL,
    email         TEXT NOT NULL UNIQUE,
    signup_date   TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
    customer_tier TEXT NOT NULL CHECK (customer_tier IN ('bronze', 'silver', 'gold', 'platinum'))
);
CREATE TABLE products (
    product_id    INTEGER PRIMARY KEY,
    product_name  TEXT NOT NULL,
    sku           TEXT NOT NULL UNIQUE,
    category      TEXT NOT NULL,
    unit_cost     REAL NOT NULL,                -- what the shop pays
    list_price    REAL NOT NULL,                -- what the customer pays before a discount
    reorder_point INTEGER NOT NULL,             -- order more once all warehouses together hold this or less
    discontinued  INTEGER NOT NULL DEFAULT 0 CHECK (discontinued IN (0, 1))
);
CREATE TABLE orders (
    order_id     INTEGER PRIMARY KEY,
    customer_id  INTEGER NOT NULL REFERENCES customers,
    order_date   TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled', 'refunded')),
    total_amount REAL NOT NULL,                 -- discounts already taken off
    sales_region TEXT NOT NULL CHECK (sales_region IN ('north', 'south', 'east', 'west'))
);
CREATE TABLE order_items (
    item_id          INTEGER PRIMARY KEY,
    order_id         INTEGER NOT NULL REFERENCES orders,
    product_id       INTEGER NOT NULL REFERENCES products,
    quantity         INTEGER NOT NULL CHECK (quantity > 0),
    unit_price       REAL NOT NULL,
    discount_percent INTEGER NOT NULL DEFAULT 0 CHECK (discount_percent BETWEEN 0 AND 100)
);
CREATE TABLE warehouses (
    warehouse_id   INTEGER PRIMARY KEY,
    warehouse_name TEXT NOT NULL,
    location       TEXT NOT NULL,
    capacity       INTEGER NOT NULL             -- in units
);
CREATE TABLE inventory (
    inventory_id     INTEGER PRIMARY KEY,
    product_id       INTEGER NOT NULL REFERENCES products,
    warehouse_id     INTEGER NOT NULL REFERENCES warehouses,
    quantity_on_hand INTEGER NOT NULL,          -- below zero where more was promised than was there
    last_updated     TEXT NOT NULL,
    UNIQUE (product_id, warehouse_id)
);
CREATE TABLE stock_movements (
    movement_id      INTEGER PRIMARY KEY,
    product_id       INTEGER NOT NULL REFERENCES products,
    warehouse_id     INTEGER NOT NULL REFERENCES warehouses,
    movement_type    TEXT NOT NULL CHECK (movement_type IN ('inbound', 'outbound', 'transfer', 'adjustment')),
    quantity         INTEGER NOT NULL,          -- into the warehouse above zero, out of it below
    movement_date    TEXT NOT NULL,
    reference_number TEXT NOT NULL
);

-- Numbers that look thrown: the multiplicative generator x -> 48271 x mod (2^31 - 1).
CREATE TEMP TABLE dice (n INTEGER PRIMARY KEY, x INTEGER NOT NULL);
WITH RECURSIVE roll(n, x) AS (
    SELECT 1, 20260657
    UNION ALL
    SELECT n + 1, x * 48271 % 2147483647 FROM roll WHERE n < 10200
)
INSERT INTO dice SELECT n, x FROM roll;

-- 120 people: eight groups, each with three family names and five given names.
CREATE TEMP TABLE naming (g INTEGER PRIMARY KEY, region TEXT, family_first INTEGER);
INSERT INTO naming VALUES
    (0, 'north', 0), (1, 'east', 1), (2, 'south', 0), (3, 'west', 0),
    (4, 'north', 0), (5, 'east', 0), (6, 'south', 0), (7, 'west', 0);

WITH RECURSIVE
families(g, k, name, plain) AS (VALUES
    (0, 0, 'Müller', 'mueller'),  (0, 1, 'Jäger', 'jaeger'),          (0, 2, 'Lindqvist', 'lindqvist'),
    (1, 0, '王', 'wang'),         (1, 1, '陈', 'chen'),               (1, 2, '欧阳', 'ouyang'),
    (2, 0, 'García', 'garcia'),   (2, 1, 'Núñez', 'nunez'),           (2, 2, 'Ibáñez', 'ibanez'),
    (3, 0, 'Lefèvre', 'lefevre'), (3, 1, 'Dubois', 'dubois'),         (3, 2, 'Béranger', 'beranger'),
    (4, 0, 'Wójcik', 'wojcik'),   (4, 1, 'Nowak', 'nowak'),           (4, 2, 'Mazur', 'mazur'),
    (5, 0, 'Iyer', 'iyer'),       (5, 1, 'Banerjee', 'banerjee'),     (5, 2, 'Kulkarni', 'kulkarni'),
    (6, 0, 'Araújo', 'araujo'),   (6, 1, 'Conceição', 'conceicao'),   (6, 2, 'Magalhães', 'magalhaes'),
    (7, 0, 'O''Brien', 'obrien'), (7, 1, 'Okafor', 'okafor'),         (7, 2, 'Hughes', 'hughes')
),
givens(g, k, name, plain) AS (VALUES
    (0, 0, 'Anke', 'anke'),   (0, 1, 'Jürgen', 'juergen'),  (0, 2, 'Freya', 'freya'),   (0, 3, 'Björn', 'bjoern'),         (0, 4, 'Käthe', 'kaethe'),
    (1, 0, '秀英', 'xiuying'), (1, 1, '建国', 'jianguo'),    (1, 2, '雨桐', 'yutong'),   (1, 3, '子涵', 'zihan'),           (1, 4, '晓明', 'xiaoming'),
    (2, 0, 'Lucía', 'lucia'), (2, 1, 'José', 'jose'),       (2, 2, 'Begoña', 'begona'), (2, 3, 'Andrés', 'andres'),        (2, 4, 'Inés', 'ines'),
    (3, 0, 'Chloé', 'chloe'), (3, 1, 'Émile', 'emile'),     (3, 2, 'Noémie', 'noemie'), (3, 3, 'François', 'francois'),    (3, 4, 'Hélène', 'helene'),
    (4, 0, 'Zofia', 'zofia'), (4, 1, 'Łukasz', 'lukasz'),   (4, 2, 'Paweł', 'pawel'),   (4, 3, 'Małgorzata', 'malgorzata'),(4, 4, 'Kinga', 'kinga'),
    (5, 0, 'Meera', 'meera'), (5, 1, 'Rohan', 'rohan'),     (5, 2, 'Ananya', 'ananya'), (5, 3, 'Vikram', 'vikram'),        (5, 4, 'Ishaan', 'ishaan'),
    (6, 0, 'João', 'joao'),   (6, 1, 'Letícia', 'leticia'), (6, 2, 'Tomás', 'tomas'),   (6, 3, 'Beatriz', 'beatriz'),      (6, 4, 'Antônio', 'antonio'),
    (7, 0, 'Aoife', 'aoife'), (7, 1, 'Chinedu', 'chinedu'), (7, 2, 'Siân', 'sian'),     (7, 3, 'Tunde', 'tunde'),          (7, 4, 'Maeve', 'maeve')
),
person(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM person WHERE id < 120)
INSERT INTO customers
SELECT id,
       CASE family_first WHEN 1 THEN f.name || v.name ELSE v.name || ' ' || f.name END,
       v.plain || '.' || f.plain || '@example.com',
       date('2023-03-01', (10 * id + 7 * id % 10) || ' days'),     -- one in ten days, ids in order
       CASE id % 9 WHEN 4 THEN 'inactive' ELSE 'active' END,
       CASE WHEN id * 7 % 20 < 10 THEN 'bronze' WHEN id * 7 % 20 < 16 THEN 'silver'
            WHEN id * 7 % 20 < 19 THEN 'gold' ELSE 'platinum' END
FROM person
JOIN naming       ON naming.g = id % 8
JOIN families AS f ON f.g = id % 8 AND f.k = id / 8 % 3            -- 3 and 5 share no factor, so that
JOIN givens   AS v ON v.g = id % 8 AND v.k = id / 8 % 5;           -- no pair of names comes twice

-- Prices are multiples of 0.20 and discounts of 5 %, so that every total is a whole number of cents.
INSERT INTO products (product_id, product_name, sku, category, unit_cost, list_price, reorder_point, discontinued) VALUES
    ( 1, 'Oak dining table',         'FUR-101', 'Furniture', 412.00, 749.00, 12, 0),
    ( 2, 'Ash dining chair',         'FUR-102', 'Furniture',  61.00, 119.00, 30, 0),
    ( 3, 'Linen sofa, two seats',    'FUR-103', 'Furniture', 468.00, 899.00, 12, 0),
    ( 4, 'Bookcase, five shelves',   'FUR-104', 'Furniture',  98.00, 189.00, 18, 0),
    ( 5, 'Walnut sideboard',         'FUR-105', 'Furniture', 301.00, 579.00, 12, 0),
    ( 6, 'Rattan armchair',          'FUR-106', 'Furniture', 118.00, 229.00, 16, 0),
    ( 7, 'Bed frame 160 × 200',      'FUR-107', 'Furniture', 244.00, 459.00, 12, 0),
    ( 8, 'Bedside table, birch',     'FUR-108', 'Furniture',  37.00,  79.00, 20, 0),
    ( 9, 'Paper lantern 灯笼',        'LIG-201', 'Lighting',    7.20,  18.00, 40, 0),
    (10, 'Brass floor lamp',         'LIG-202', 'Lighting',   74.00, 149.00, 16, 0),
    (11, 'Desk lamp, clamp',         'LIG-203', 'Lighting',   17.60,  39.00, 26, 0),
    (12, 'Pendant, smoked glass',    'LIG-204', 'Lighting',   42.00,  89.00, 18, 0),
    (13, 'Wall light, plaster',      'LIG-205', 'Lighting',   28.00,  64.00, 18, 0),
    (14, 'LED bulb E27, warm',       'LIG-206', 'Lighting',    1.90,   6.40, 60, 0),
    (15, 'Candle holder, iron',      'LIG-207', 'Lighting',    6.40,  16.00, 30, 0),
    (16, 'Solar garden lantern',     'LIG-208', 'Lighting',   11.20,  27.00, 30, 1),
    (17, 'Cast-iron pot 5 l',        'KIT-301', 'Kitchen',    58.00, 129.00, 20, 0),
    (18, 'Chef''s knife 20 cm',      'KIT-302', 'Kitchen',    31.00,  72.00, 24, 0),
    (19, 'Tea set 青瓷, 6 pieces',    'KIT-303', 'Kitchen',    36.00,  84.00, 20, 0),
    (20, 'Espresso pot, 6 cups',     'KIT-304', 'Kitchen',    14.80,  34.00, 30, 0),
    (21, 'Pepper mill, beech',       'KIT-305', 'Kitchen',     9.80,  24.00, 30, 0),
    (22, 'Crêpe pan 26 cm',          'KIT-306', 'Kitchen',    15.20,  36.00, 28, 0),
    (23, 'Paella pan 40 cm',         'KIT-307', 'Kitchen',    18.40,  42.00, 24, 0),
    (24, 'Bamboo steamer',           'KIT-308', 'Kitchen',     8.60,  21.00, 34, 0),
    (25, 'Bread box, enamel',        'KIT-309', 'Kitchen',    17.20,  38.00, 24, 1),
    (26, 'Garden bench, teak',       'GAR-401', 'Garden',    166.00, 319.00, 14, 0),
    (27, 'Terracotta pot 30 cm',     'GAR-402', 'Garden',      6.80,  17.00, 44, 0),
    (28, 'Watering can, zinc',       'GAR-403', 'Garden',     12.60,  29.00, 28, 0),
    (29, 'Hammock, cotton',          'GAR-404', 'Garden',     33.00,  76.00, 18, 0),
    (30, 'Parasol 3 m',              'GAR-405', 'Garden',     87.00, 169.00, 16, 0),
    (31, 'Folding bistro set',       'GAR-406', 'Garden',     94.00, 189.00, 18, 0),
    (32, 'Secateurs',                'GAR-407', 'Garden',     11.40,  26.00, 28, 0),
    (33, 'Fire bowl, steel',         'GAR-408', 'Garden',     61.00, 124.00, 16, 1),
    (34, 'Standing desk 140 cm',     'OFF-501', 'Office',    288.00, 529.00, 14, 0),
    (35, 'Office chair, mesh',       'OFF-502', 'Office',    132.00, 259.00, 18, 0),
    (36, 'Cork pinboard 60 × 90',    'OFF-503', 'Office',     12.20,  29.00, 26, 0),
    (37, 'Filing cabinet',           'OFF-504', 'Office',     83.00, 159.00, 16, 0),
    (38, 'Desk organiser, felt',     'OFF-505', 'Office',      8.40,  19.00, 32, 0),
    (39, 'Notebook A5, dotted',      'OFF-506', 'Office',      2.80,   8.00, 60, 0),
    (40, 'Monitor arm',              'OFF-507', 'Office',     38.00,  82.00, 20, 0);  -- announced, never delivered

INSERT INTO warehouses VALUES
    (1, 'Hamburg Nord',  'Hamburg, DE',  6000),
    (2, 'Valencia Port', 'Valencia, ES', 4500),
    (3, '苏州园区',        '苏州, CN',      8000);

-- 1,400 orders from 2025-05-01 to today. Old customers buy more often than new ones; inactive ones
-- stopped in November 2025; only the last days hold pending orders.
WITH RECURSIVE
tick(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM tick WHERE n < 1400),
dated(n, day, who, luck) AS (
    SELECT tick.n, date('2025-05-01', (tick.n * 425 / 1400) || ' days'), a.x % 1000, b.x % 100
    FROM tick JOIN dice AS a ON a.n = 2 * tick.n JOIN dice AS b ON b.n = 2 * tick.n + 1
),
chosen(n, day, id, luck) AS (                   -- among those who had signed up by then
    SELECT n, day, 1 + (julianday(day) - julianday('2023-03-20')) / 10 * who * who / 1000000, luck FROM dated
),
bought(n, day, id, luck) AS (
    SELECT n, day, CAST(id AS INTEGER) - (day > '2025-11-30' AND CAST(id AS INTEGER) % 9 = 4), luck FROM chosen
)
INSERT INTO orders
SELECT n, id, day,
       CASE WHEN luck < 7 THEN 'cancelled' WHEN luck < 12 THEN 'refunded'
            WHEN luck < 60 AND day > (SELECT date(today, '-7 days') FROM calendar) THEN 'pending'
            ELSE 'completed' END,
       0, region
FROM bought JOIN naming ON g = id % 8;

-- One to four items each, never the same product twice. A dear product is bought alone, a cheap
-- one by the handful. What is discontinued is no longer sold from November 2025 on.
WITH RECURSIVE
line(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM line WHERE k < 3),
picked(order_id, k, product_id, luck) AS (
    SELECT o.order_id, k, 1 + (a.x + k * 11) % 39, b.x / 7
    FROM orders AS o
    JOIN dice AS a ON a.n = 3000 + o.order_id
    JOIN line      ON k <= a.x / 39 % 4
    JOIN dice AS b ON b.n = 4500 + 4 * o.order_id + k
)
INSERT INTO order_items (order_id, product_id, quantity, unit_price, discount_percent)
SELECT order_id, product_id,
       1 + luck % CASE WHEN list_price > 400 THEN 1 WHEN list_price > 100 THEN 2 WHEN list_price > 20 THEN 4 ELSE 6 END,
       list_price,
       CASE customer_tier WHEN 'platinum' THEN 10 WHEN 'gold' THEN 5 ELSE 0 END + CASE luck / 8 % 10 WHEN 0 THEN 10 WHEN 1 THEN 5 ELSE 0 END
FROM picked JOIN products USING (product_id) JOIN orders USING (order_id) JOIN customers USING (customer_id)
WHERE k = 0 OR NOT (discontinued AND order_date > '2025-10-31')
ORDER BY order_id, k;

UPDATE order_items SET (product_id, unit_price) = (      -- the one item of an order cannot be left out: its neighbour instead
    SELECT p.product_id, p.list_price FROM products AS p WHERE p.product_id = order_items.product_id - 1)
WHERE product_id IN (SELECT product_id FROM products WHERE discontinued)
  AND order_id IN (SELECT order_id FROM orders WHERE order_date > '2025-10-31');

CREATE INDEX order_items_by_order ON order_items (order_id);
UPDATE orders SET total_amount = (
    SELECT round(sum(quantity * unit_price * (1 - discount_percent / 100.0)), 2)
    FROM order_items AS i WHERE i.order_id = orders.order_id);
CREATE INDEX orders_by_date ON orders (order_date);
CREATE INDEX orders_by_customer ON orders (customer_id);

-- Stock: an opening delivery, then what was sold goes out at the end of each month and comes in again
-- on the 5th of the next. Some deliveries stopped on the way.
CREATE TEMP TABLE stopped (product_id INTEGER PRIMARY KEY, since TEXT);
INSERT INTO stopped VALUES
    (3, '2026-02-01'), (9, '2026-04-01'), (14, '2026-02-01'), (22, '2026-03-01'), (27, '2026-04-01'),
    (31, '2026-03-01'), (36, '2026-03-01'), (16, '2025-08-01'), (25, '2025-07-01'), (33, '2025-07-01');

CREATE TEMP TABLE sold AS
SELECT product_id,
       CASE sales_region WHEN 'north' THEN 1 WHEN 'east' THEN 3 ELSE 2 END AS warehouse_id,
       min(date(order_date, 'start of month', '+1 month', '-1 day'), today) AS day,
       sum(quantity) AS units
FROM order_items JOIN orders USING (order_id), calendar
WHERE status IN ('completed', 'refunded')
GROUP BY 1, 2, 3;

INSERT INTO stock_movements (product_id, warehouse_id, movement_type, quantity, movement_date, reference_number)
SELECT product_id, warehouse_id, kind, quantity, day, reference FROM (
    SELECT product_id, warehouse_id, 'inbound' AS kind, reorder_point * 4 / 5 + 2 AS quantity,
           '2025-04-28' AS day, 'OPEN-' || sku AS reference
    FROM products, warehouses WHERE product_id < 40
    UNION ALL
    SELECT product_id, warehouse_id, 'outbound', -units, day, 'SHIP-' || strftime('%Y%m', day) FROM sold
    UNION ALL
    SELECT product_id, warehouse_id, 'inbound', units, date(day, '+5 days'), 'PO-' || strftime('%Y%m', day) || '-' || product_id
    FROM sold LEFT JOIN stopped USING (product_id), calendar
    WHERE date(day, '+5 days') <= today AND (since IS NULL OR day < since)
    UNION ALL                                       -- a few pieces of some products move from the largest house to the others
    SELECT product_id, warehouse_id, 'transfer', CASE warehouse_id WHEN 3 THEN -4 ELSE 2 END,
           date('2025-05-12', (product_id % 13) || ' months'), 'TRF-' || product_id
    FROM products, warehouses WHERE product_id % 3 = 1 AND product_id < 40
)
ORDER BY day, kind, product_id, warehouse_id;

-- Today's count found eight knives in each warehouse: together exactly the reorder point.
INSERT INTO stock_movements (product_id, warehouse_id, movement_type, quantity, movement_date, reference_number)
SELECT product_id, warehouse_id, 'adjustment', reorder_point / 3 - sum(quantity), '2026-06-30', 'COUNT-202606'
FROM stock_movements JOIN products USING (product_id) WHERE product_id = 18
GROUP BY warehouse_id ORDER BY warehouse_id;

INSERT INTO inventory (product_id, warehouse_id, quantity_on_hand, last_updated)
SELECT product_id, warehouse_id, sum(quantity), max(movement_date)
FROM stock_movements GROUP BY product_id, warehouse_id ORDER BY product_id, warehouse_id;

DROP TABLE dice;
DROP TABLE naming;
DROP TABLE stopped;
DROP TABLE sold;
COMMIT;
