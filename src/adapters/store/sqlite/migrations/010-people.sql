-- People with a record, and whose each account on a channel is. An account belongs to at most one person.
CREATE TABLE people (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE person_accounts (account TEXT PRIMARY KEY, person TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX person_accounts_of ON person_accounts (person);
