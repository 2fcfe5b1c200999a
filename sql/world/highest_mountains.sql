-- The highest mountain of each country in the sample.
-- A mountain on a border counts for both countries.
-- $continent (text, default *): continent of the countries, for example Africa

SELECT c.name AS country, m.name AS mountain, m.height_m, m.range
FROM lies_in l JOIN mountain m ON m.id = l.head JOIN country c ON c.id = l.tail
WHERE $continent = '*'
   OR c.id IN (SELECT i.head FROM in_continent i JOIN continent t ON t.id = i.tail WHERE t.name = $continent)
QUALIFY row_number() OVER (PARTITION BY c.id ORDER BY m.height_m DESC, m.name) = 1
ORDER BY m.height_m DESC, country;
