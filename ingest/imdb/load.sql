-- Titles end in a non-breaking space. The IMDB number in the link identifies a film; its rows differ only in counts of
-- votes and likes, so the one with the most votes is kept.
CREATE TABLE film AS
SELECT * EXCLUDE (copy) FROM (
  SELECT *, row_number() OVER (PARTITION BY key ORDER BY num_voted_users::BIGINT DESC, place) AS copy
  FROM (
    SELECT regexp_extract(movie_imdb_link, 'tt[0-9]+') AS key, trim(replace(movie_title, chr(160), ' ')) AS title,
           * EXCLUDE (movie_title, movie_imdb_link), row_number() OVER () AS place
    FROM films))
WHERE copy = 1
ORDER BY place;

CREATE TABLE person AS
SELECT trim(name) AS name, min(place) AS place FROM (
  SELECT director_name AS name, place FROM film
  UNION ALL SELECT actor_1_name, place FROM film
  UNION ALL SELECT actor_2_name, place FROM film
  UNION ALL SELECT actor_3_name, place FROM film
) WHERE name IS NOT NULL GROUP BY trim(name);

CREATE TABLE film_genre AS SELECT key, unnest(string_split(genres, '|')) AS genre FROM film;
CREATE TABLE film_keyword AS SELECT key, unnest(string_split(plot_keywords, '|')) AS keyword FROM film;

CREATE TABLE nodes AS
SELECT 'movie' AS type, key, title AS name, title_year AS year, duration AS duration_minutes, budget, gross,
       imdb_score AS score, num_voted_users AS votes, trim(color) AS color
FROM film
UNION ALL BY NAME (SELECT 'person' AS type, name AS key, name FROM person ORDER BY place, name)
UNION ALL BY NAME (SELECT DISTINCT 'genre' AS type, genre AS key, genre AS name FROM film_genre ORDER BY genre)
UNION ALL BY NAME (SELECT DISTINCT 'keyword' AS type, keyword AS key, keyword AS name FROM film_keyword ORDER BY keyword)
UNION ALL BY NAME (SELECT DISTINCT 'country' AS type, country AS key, country AS name FROM film
                   WHERE country IS NOT NULL ORDER BY country)
UNION ALL BY NAME (SELECT DISTINCT 'language' AS type, language AS key, language AS name FROM film
                   WHERE language IS NOT NULL ORDER BY language)
UNION ALL BY NAME (SELECT DISTINCT 'content_rating' AS type, content_rating AS key, content_rating AS name FROM film
                   WHERE content_rating IS NOT NULL ORDER BY content_rating);

CREATE TABLE edges AS
SELECT 'person' AS head_type, trim(director_name) AS head, 'directed' AS relation, 'movie' AS tail_type, key AS tail
FROM film WHERE director_name IS NOT NULL
UNION ALL BY NAME
SELECT 'person' AS head_type, trim(name) AS head, 'acted_in' AS relation, 'movie' AS tail_type, key AS tail, min(billing) AS billing
FROM (SELECT key, unnest([actor_1_name, actor_2_name, actor_3_name]) AS name, unnest([1, 2, 3]) AS billing FROM film)
WHERE name IS NOT NULL GROUP BY ALL
UNION ALL BY NAME
SELECT 'movie' AS head_type, key AS head, 'has_genre' AS relation, 'genre' AS tail_type, genre AS tail FROM film_genre
UNION ALL BY NAME
SELECT 'movie' AS head_type, key AS head, 'has_keyword' AS relation, 'keyword' AS tail_type, keyword AS tail
FROM film_keyword
UNION ALL BY NAME
SELECT 'movie' AS head_type, key AS head, 'made_in' AS relation, 'country' AS tail_type, country AS tail
FROM film WHERE country IS NOT NULL
UNION ALL BY NAME
SELECT 'movie' AS head_type, key AS head, 'in_language' AS relation, 'language' AS tail_type, language AS tail
FROM film WHERE language IS NOT NULL
UNION ALL BY NAME
SELECT 'movie' AS head_type, key AS head, 'rated' AS relation, 'content_rating' AS tail_type, content_rating AS tail
FROM film WHERE content_rating IS NOT NULL;

-- The source has no prose: plot keywords are the text to search.
CREATE TABLE texts AS
SELECT key, 'keywords' AS field, replace(plot_keywords, '|', ', ') AS text FROM film WHERE plot_keywords IS NOT NULL;
