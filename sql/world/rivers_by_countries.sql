-- The rivers that flow through or along the most countries.
-- $limit (integer, default 10): maximum number of rows

SELECT r.key, r.name, r.length_km, count(*) AS countries, string_agg(c.name, ', ' ORDER BY c.name) AS which
FROM flows_through f JOIN river r ON r.id = f.head JOIN country c ON c.id = f.tail
GROUP BY ALL
ORDER BY countries DESC, r.length_km DESC, r.name
LIMIT $limit;
