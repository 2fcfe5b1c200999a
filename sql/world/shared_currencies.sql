-- Currencies of several countries.

SELECT m.key, m.name, count(*) AS countries, string_agg(c.name, ', ' ORDER BY c.name) AS which
FROM uses_currency u JOIN currency m ON m.id = u.tail JOIN country c ON c.id = u.head
GROUP BY m.key, m.name HAVING count(*) > 1
ORDER BY countries DESC, m.name;
