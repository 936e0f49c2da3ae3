-- People with a record, and whose each account on a channel is. An account belongs to at most one person.
CREATE TABLE people (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE person_accounts (account TEXT PRIMARY KEY, person TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX person_accounts_of ON person_accounts (person);

-- Who did what and what was decided. Only ever added to, and removed by age.
CREATE TABLE audit (
  n INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  person TEXT NOT NULL,
  agent TEXT,
  action TEXT NOT NULL,
  decision TEXT NOT NULL,
  entry TEXT NOT NULL
);
CREATE INDEX audit_person ON audit (person, n);
CREATE INDEX audit_agent ON audit (agent, n) WHERE agent IS NOT NULL;
