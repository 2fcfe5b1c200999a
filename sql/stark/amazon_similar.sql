-- What other products are like <product>?
-- Printed as (product → product) in STaRK A.2. The printed metapath names no relation and two fit; the wording says
-- similar, so either counts. Both are followed as recorded, from the product to those listed on its page.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $product (node of product): <product>, by name or key
--
-- (product:<product> -> [also_buy|also_view] -> product) - product:<product>
WITH product_1 AS (
  SELECT id FROM product WHERE id = $product
),
product_2 AS (
  SELECT tail AS id FROM also_buy WHERE head IN (SELECT id FROM product_1)
  UNION SELECT tail AS id FROM also_view WHERE head IN (SELECT id FROM product_1)
),
product_3 AS (
  SELECT l.id FROM product_2 l ANTI JOIN product_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_3)
ORDER BY id
