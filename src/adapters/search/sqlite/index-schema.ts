/** The tables of the index file. The index can be built again at any time, so there are no migrations (M35). */

/** A file of another version is deleted and built again. */
export const VERSION = 1;
export const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE spaces (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next INTEGER NOT NULL);
CREATE TABLE agents (no INTEGER PRIMARY KEY, id TEXT NOT NULL, session_key TEXT NOT NULL, space INTEGER NOT NULL, pos INTEGER NOT NULL);
CREATE TABLE files (no INTEGER PRIMARY KEY, space INTEGER NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL, UNIQUE (space, path));
CREATE TABLE docs (n INTEGER PRIMARY KEY, agent INTEGER, pos INTEGER, file INTEGER, line INTEGER, at INTEGER NOT NULL, speaker TEXT NOT NULL, untrusted TEXT, text TEXT NOT NULL);
CREATE INDEX docs_agent ON docs (agent) WHERE agent IS NOT NULL;
CREATE INDEX docs_file ON docs (file) WHERE file IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5 (body, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '3');
PRAGMA user_version = ${VERSION};`;
