-- The demo database: a company that sells office goods, in English and Chinese.
--
-- Every run makes the same rows. Dates end at 2025-06-30, whatever today is.
--
--   departments      8 rows
--   employees    1,046 rows: 858 with status 'active', 188 with 'left';
--                        37 of those left before 2019-01-01 (left_on < '2019-01-01')
--   salaries     one row for each raise of an employee; the current one has no valid_to
--   reviews      one row for each employee and whole year of service
--   customers      600 rows, in 14 cities
--   products       120 rows, in 6 categories
--   orders      20,000 rows from 2019-01-01 on; total is the sum of the order's items
--   order_items  one row for each product of an order
--   订单备注      about 1,500 notes on orders
--
-- Deleting an employee deletes their salaries and reviews; deleting an order
-- deletes its items and notes. No one who left manages anybody.
--
-- city is always the English name and city_zh the Chinese one. Money is
-- DECIMAL, in CNY. Dates are text, YYYY-MM-DD; ordered_at is YYYY-MM-DD HH:MM:SS.

CREATE TABLE departments (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE, -- Engineering, Sales, Marketing, Finance, Human Resources, Operations, Support, Legal
    name_zh   TEXT NOT NULL,        -- 研发部 销售部 市场部 财务部 人力资源部 运营部 客服部 法务部
    city      TEXT NOT NULL,
    city_zh   TEXT NOT NULL,
    budget    DECIMAL(14,2) NOT NULL,
    opened_on DATE NOT NULL
);

CREATE TABLE employees (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    name_zh       TEXT,                 -- NULL for those without a Chinese name
    email         TEXT NOT NULL UNIQUE,
    department_id INTEGER NOT NULL REFERENCES departments(id),
    manager_id    INTEGER REFERENCES employees(id) ON DELETE SET NULL, -- NULL: heads a department
    job_title     TEXT NOT NULL,
    city          TEXT NOT NULL,
    city_zh       TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('active', 'left')),
    joined_on     DATE NOT NULL,
    left_on       DATE,                 -- NULL while active
    profile       JSON NOT NULL,        -- {"languages":["en","zh"],"remote":false,"skills":["sql"]}
    CHECK ((status = 'left') = (left_on IS NOT NULL))
);

CREATE TABLE salaries (
    id          INTEGER PRIMARY KEY,
    employee_id INTEGER NOT NULL REFERENCES employees(id) ON DELETE CASCADE,
    amount      DECIMAL(12,2) NOT NULL, -- a month
    currency    TEXT NOT NULL DEFAULT 'CNY',
    valid_from  DATE NOT NULL,
    valid_to    DATE                    -- NULL: still valid; the day of leaving for those who left
);

CREATE TABLE reviews (
    id          INTEGER PRIMARY KEY,
    employee_id INTEGER NOT NULL REFERENCES employees(id) ON DELETE CASCADE,
    year        INTEGER NOT NULL,
    score       REAL NOT NULL CHECK (score BETWEEN 1 AND 5),
    comment     TEXT,                   -- often NULL
    UNIQUE (employee_id, year)
);

CREATE TABLE customers (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    name_zh     TEXT,
    city        TEXT NOT NULL,
    city_zh     TEXT NOT NULL,
    country     TEXT NOT NULL,          -- China, Singapore, Germany …
    segment     TEXT NOT NULL CHECK (segment IN ('consumer', 'business', 'public')),
    email       TEXT,                   -- NULL for some
    created_on  DATE NOT NULL,
    preferences JSON                    -- {"newsletter":true,"language":"zh"}; NULL for some
);

CREATE TABLE products (
    id           INTEGER PRIMARY KEY,
    sku          TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    name_zh      TEXT NOT NULL,
    category     TEXT NOT NULL,         -- furniture, stationery, electronics, kitchen, lighting, books
    price        DECIMAL(10,2) NOT NULL,
    weight_kg    TEXT NOT NULL,         -- an exact decimal as text, such as '12.500'
    stock        INTEGER NOT NULL,
    discontinued BOOLEAN NOT NULL DEFAULT 0,
    attributes   JSON NOT NULL          -- {"color":"black","color_zh":"黑色","warranty_months":24}
);

CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers(id),
    ordered_at  DATETIME NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('new', 'paid', 'shipped', 'completed', 'cancelled', 'refunded')),
    total       DECIMAL(12,2) NOT NULL,
    shipped_on  DATE,                   -- NULL unless shipped
    coupon      TEXT                    -- NULL for most
);

CREATE TABLE order_items (
    order_id   INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE,
    product_id INTEGER NOT NULL REFERENCES products(id),
    quantity   INTEGER NOT NULL CHECK (quantity > 0),
    unit_price DECIMAL(10,2) NOT NULL,
    PRIMARY KEY (order_id, product_id)
) WITHOUT ROWID;

CREATE TABLE 订单备注 (
    编号     INTEGER PRIMARY KEY,
    订单编号 INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE,
    备注     TEXT NOT NULL,
    作者     TEXT,
    记录日期 DATE NOT NULL,
    重要     BOOLEAN NOT NULL DEFAULT 0
);

CREATE INDEX employees_department ON employees (department_id);
CREATE INDEX employees_manager    ON employees (manager_id);
CREATE INDEX salaries_employee    ON salaries (employee_id, valid_from);
CREATE INDEX orders_customer      ON orders (customer_id);
CREATE INDEX orders_ordered_at    ON orders (ordered_at);
CREATE INDEX order_items_product  ON order_items (product_id);
CREATE INDEX 订单备注_订单        ON 订单备注 (订单编号);

CREATE VIEW current_salaries AS
    SELECT e.id AS employee_id, e.name, e.name_zh, d.name AS department, s.amount, s.currency
    FROM employees e
    JOIN departments d ON d.id = e.department_id
    JOIN salaries s ON s.employee_id = e.id AND s.valid_to IS NULL
    WHERE e.status = 'active';

CREATE VIEW monthly_sales AS
    SELECT substr(ordered_at, 1, 7) AS month, count(*) AS orders, round(sum(total), 2) AS revenue
    FROM orders
    WHERE status NOT IN ('cancelled', 'refunded')
    GROUP BY substr(ordered_at, 1, 7);
