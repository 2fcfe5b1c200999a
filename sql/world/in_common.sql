-- Common neighbours of two countries: organisations, languages, currencies, seas, rivers, mountains, countries.
-- $a (node, default country#FRA): first country
-- $b (node, default country#DEU): second country

WITH of_country AS (
  SELECT head AS country, relation, tail AS id FROM edges WHERE head IN ($a, $b)
  UNION SELECT tail, relation, head FROM edges WHERE tail IN ($a, $b)
)
SELECT relation, count(*) AS number, string_agg(name, ', ' ORDER BY name) AS which
FROM of_country x JOIN of_country y USING (relation, id) JOIN nodes USING (id)
WHERE x.country = $a AND y.country = $b AND relation <> 'had_population'
GROUP BY relation
ORDER BY relation;
