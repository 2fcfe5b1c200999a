-- The world sample: one file per type and per relation.

CREATE TABLE nodes AS
SELECT 'country' AS type, key, name, string_split(aliases, '|') AS aliases, official_name, area_km2, un_status,
       population -- in the last year of which it is known
FROM countries
LEFT JOIN (SELECT country AS key, arg_max(people, year) AS population FROM populations GROUP BY country) USING (key)
UNION ALL BY NAME
SELECT 'city' AS type, key, name, string_split(aliases, '|') AS aliases, latitude, longitude FROM cities
UNION ALL BY NAME
SELECT 'continent' AS type, key, name, area_km2 FROM continents
UNION ALL BY NAME
SELECT 'language' AS type, key, name, string_split(aliases, '|') AS aliases, family,
       string_split(script, '|') AS script
FROM languages
UNION ALL BY NAME
SELECT 'currency' AS type, key, name, string_split(aliases, '|') AS aliases, symbol FROM currencies
UNION ALL BY NAME
SELECT 'organisation' AS type, key, name, string_split(aliases, '|') AS aliases, founded, headquarters
FROM organisations
UNION ALL BY NAME
SELECT 'sea' AS type, key, name, string_split(aliases, '|') AS aliases, kind, area_km2 FROM seas
UNION ALL BY NAME
SELECT 'river' AS type, key, name, string_split(aliases, '|') AS aliases, length_km FROM rivers
UNION ALL BY NAME
SELECT 'lake' AS type, key, name, string_split(aliases, '|') AS aliases, area_km2, max_depth_m FROM lakes
UNION ALL BY NAME
SELECT 'mountain' AS type, key, name, string_split(aliases, '|') AS aliases, height_m, range FROM mountains
UNION ALL BY NAME
(SELECT DISTINCT 'year' AS type, year AS key, year AS name FROM populations ORDER BY year);

CREATE TABLE edges AS
SELECT 'country' AS head_type, country AS head, 'borders' AS relation, 'country' AS tail_type, neighbour AS tail
FROM borders
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'capital' AS relation, 'city' AS tail_type, city AS tail, role
FROM capitals
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'in_continent' AS relation, 'continent' AS tail_type, continent AS tail
FROM country_continents
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'speaks' AS relation, 'language' AS tail_type, language AS tail, status
FROM country_languages
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'uses_currency' AS relation, 'currency' AS tail_type, currency AS tail
FROM country_currencies
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'member_of' AS relation, 'organisation' AS tail_type,
       organisation AS tail, since
FROM memberships
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'had_population' AS relation, 'year' AS tail_type, year AS tail, people
FROM populations
UNION ALL BY NAME
SELECT 'country' AS head_type, country AS head, 'coast_on' AS relation, 'sea' AS tail_type, sea AS tail FROM coasts
UNION ALL BY NAME
SELECT 'sea' AS head_type, sea AS head, 'part_of' AS relation, 'sea' AS tail_type, part_of AS tail FROM sea_parts
UNION ALL BY NAME
SELECT 'river' AS head_type, river AS head, 'flows_through' AS relation, 'country' AS tail_type, country AS tail
FROM river_countries
UNION ALL BY NAME
SELECT 'river' AS head_type, river AS head, 'flows_into' AS relation, mouth_type AS tail_type, mouth AS tail
FROM river_mouths
UNION ALL BY NAME
SELECT 'lake' AS head_type, lake AS head, 'lies_in' AS relation, 'country' AS tail_type, country AS tail
FROM lake_countries
UNION ALL BY NAME
SELECT 'mountain' AS head_type, mountain AS head, 'lies_in' AS relation, 'country' AS tail_type, country AS tail
FROM mountain_countries;

CREATE TABLE texts AS
SELECT 'country' AS type, key, 'description' AS field, description AS text FROM countries
UNION ALL SELECT 'city', key, 'description', description FROM cities
UNION ALL SELECT 'continent', key, 'description', description FROM continents
UNION ALL SELECT 'language', key, 'description', description FROM languages
UNION ALL SELECT 'currency', key, 'description', description FROM currencies
UNION ALL SELECT 'organisation', key, 'description', description FROM organisations
UNION ALL SELECT 'sea', key, 'description', description FROM seas
UNION ALL SELECT 'river', key, 'description', description FROM rivers
UNION ALL SELECT 'lake', key, 'description', description FROM lakes
UNION ALL SELECT 'mountain', key, 'description', description FROM mountains;
