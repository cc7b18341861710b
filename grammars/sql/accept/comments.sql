select/**/1--x
/* unfinished comments end with the text: */ /* **/ + /***/ 2 -- and so do these
;
/* like this
