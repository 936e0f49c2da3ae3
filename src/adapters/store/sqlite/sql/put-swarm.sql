INSERT INTO swarms (nametag, record) VALUES (?, ?) ON CONFLICT (nametag) DO UPDATE SET record = excluded.record
