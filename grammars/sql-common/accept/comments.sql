SELECT a, -- the first
  b /* the
 second */
FROM t -- the end