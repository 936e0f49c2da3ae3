-- People with a record, and whose each account on a channel is. An account belongs to at most one person.
CREATE TABLE people (id text COLLATE "C" NOT NULL PRIMARY KEY, record text NOT NULL);
CREATE TABLE person_accounts (account text COLLATE "C" NOT NULL PRIMARY KEY, person text COLLATE "C" NOT NULL);
CREATE INDEX person_accounts_of ON person_accounts (person);
