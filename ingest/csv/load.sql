CREATE TABLE source_file AS
SELECT file, replace(stem, '_', ' ') AS title,
       if(count(*) OVER (PARTITION BY stem) = 1, stem, concat_ws('/', nullif(folder, ''), stem)) AS table_id
FROM (SELECT file, regexp_extract(file, '([^/]+?)(\.[A-Za-z]+)?(\.gz)?$', 1) AS stem,
             regexp_extract(file, '([^/]+)/[^/]+$', 1) AS folder FROM (SELECT DISTINCT file FROM files));

CREATE MACRO is_number(cell) AS regexp_full_match(trim(cell), '[-+0-9.,%]*');

CREATE TABLE source_tables AS
SELECT table_id, title,
       CASE WHEN getvariable('header') = 'none' THEN list_transform(cells, lambda cell, i: 'Column ' || i)
            WHEN len(list_filter(cells, lambda cell: NOT is_number(cell))) = 0
            THEN error('The header of table ''' || table_id || ''' has only numbers. Name the columns in the first line,'
                       || ' or set header to none')
            ELSE cells END AS header
FROM files JOIN source_file USING (file) WHERE position = 0 ORDER BY table_id;

CREATE TABLE source_rows AS
SELECT table_id, position, cells FROM files JOIN source_file USING (file)
WHERE position > 0 OR getvariable('header') = 'none';

SELECT error('Table ''' || table_id || ''' has no rows below its header')
FROM source_tables WHERE table_id NOT IN (SELECT table_id FROM source_rows);
