-- Whom changes touched that were committed since the last look: every transaction below the snapshot's lowest has ended.
SELECT DISTINCT word FROM changes, unnest(touched) AS word WHERE xid >= $1::text::xid8 AND xid < $2::text::xid8
