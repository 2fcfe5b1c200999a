-- The capitals from north to south.
-- $limit (integer, default 20): maximum number of rows

SELECT city.name AS capital, country.name AS country, capital.role, city.latitude, city.longitude
FROM capital JOIN city ON city.id = capital.tail JOIN country ON country.id = capital.head
ORDER BY city.latitude DESC, capital, country
LIMIT $limit;
