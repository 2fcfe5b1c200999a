-- Countries without a land border.
-- They have a coast and no neighbour: islands, or parts of islands that they have to themselves. Largest first.

SELECT key, name, area_km2
FROM country ANTI JOIN borders ON head = id
ORDER BY area_km2 DESC, name;
