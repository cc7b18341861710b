-- Numbers up to a hundred
WITH RECURSIVE
  counter(n) AS (
    VALUES (1)
    UNION ALL
    SELECT n + 1 FROM counter WHERE n < 100
  ),
  squares AS MATERIALIZED (SELECT n, n * n AS square FROM counter)
SELECT n, square /* both */ FROM squares
WHERE square % 7 = 2
ORDER BY square DESC
LIMIT 10;
