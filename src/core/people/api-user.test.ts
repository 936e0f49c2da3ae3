import { expect, test } from "vitest";
import { apiUserOf, isReservedUser, personOfApiUser } from "./api-user.ts";
import { accountOf, appUser, type PersonId } from "./person.ts";

test.each(["bob", "group:x", "dm:x", "dm:group:x", "a:b"])(
  "the name %j on the API is one account, and back",
  (user) => {
    const person = personOfApiUser(user);
    expect(person).toBe(accountOf("api", user));
    expect(apiUserOf(person)).toBe(user);
  },
);

test.each([
  ["ann", "person:ann"],
  [appUser("shop", "7"), appUser("shop", "7")],
  ["telegram:7", undefined],
  ["telegram:group:-1", undefined],
  ["owner", undefined],
])("the person %s is %s on the API", (person, user) => {
  expect(apiUserOf(person as PersonId)).toBe(user);
  if (user !== undefined) expect(personOfApiUser(user)).toBe(person);
});

test("a name in the form of a record that is no id is an account of its own", () => {
  expect(personOfApiUser("person:No One")).toBe(accountOf("api", "person:No One"));
  expect(personOfApiUser("ann")).toBe(accountOf("api", "ann"));
});

test("a name that only ends like a record, or begins like an escape, is itself", () => {
  expect(personOfApiUser("persona-ann")).toBe(accountOf("api", "persona-ann"));
  expect(personOfApiUser("1234567ann")).toBe(accountOf("api", "1234567ann"));
  expect(apiUserOf("api:dm:x" as PersonId)).toBe("dm:x");
  expect(apiUserOf("api:abcgroup:x" as PersonId)).toBe("abcgroup:x");
});

test.each([
  ["app:x", true],
  ["person:x", true],
  ["bob", false],
  ["my app:x", false],
])("the name %s is reserved: %s", (user, reserved) => {
  expect(isReservedUser(user)).toBe(reserved);
});
