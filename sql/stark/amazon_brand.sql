-- Which products does <brand> make?
-- Printed as (brand → product) in STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $brand (node of brand): <brand>, by name or key
--
-- brand:<brand> -> product
WITH brand_1 AS (
  SELECT id FROM brand WHERE id = $brand
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_brand WHERE tail IN (SELECT id FROM brand_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_1)
ORDER BY id
