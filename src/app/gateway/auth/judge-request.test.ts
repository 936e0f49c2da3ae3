/** Over HTTP nothing is allowed that the gate denies to the same person's agent: for every route, role, token and target (L13). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { AGENT_KINDS } from "../../../core/agent/descriptor.ts";
import { type Grant, VERDICTS } from "../../../core/people/grant.ts";
import { type PersonId, ROLES, type Role } from "../../../core/people/person.ts";
import { decide, type Standing } from "../../../core/rights/decide.ts";
import { SCOPES, type Scope } from "../../../core/rights/scope.ts";
import type { PeopleNow } from "../../../engine/people/directory.ts";
import { HttpError } from "../http/http-error.ts";
import { ROUTES } from "../route-table.ts";
import { admitted, reaches } from "./judge-request.ts";
import type { Principal } from "./principal.ts";

const ANN = "ann" as PersonId;
const CLOSED = ROUTES.filter(({ access }) => access !== "anonymous" && access !== "hook");

const peopleWith = (role: Role, grants: readonly Grant[]): PeopleNow => ({
  revision: 1,
  standing: (person): Standing => ({ person, role: person === ANN ? role : "stranger", grants }),
  personOf: (id) => id,
  sender: () => ANN,
  record: () => undefined,
});

const tokenOf = (scopes: readonly Scope[], role: Role, grants: readonly Grant[]): Principal => ({
  ...{ id: "t", name: "t", kind: "person", person: ANN, scopes },
  asks: { effect: { action: "message", rights: [] }, people: peopleWith(role, grants) },
});

/** The sender as the route admits it; undefined if it is refused. */
async function entering(route: (typeof CLOSED)[number], token: Principal): Promise<Principal | undefined> {
  const people = async (): Promise<PeopleNow> => token.asks?.people as PeopleNow;
  try {
    return await admitted({ now: people, recent: people }, route, token);
  } catch (error) {
    if (error instanceof HttpError && error.status === 403) return undefined;
    throw error;
  }
}

const grants = fc.array(
  fc.record({
    verdict: fc.constantFrom(...VERDICTS),
    subject: fc.constantFrom(
      "*",
      "cron*",
      "cron_add",
      "message(agent:1)",
      "session*(agent:1)",
      "manage.*",
      "cron(job:*)",
    ),
  }),
  { maxLength: 3 },
);

describe("the verdict about a request", () => {
  it("is never laxer than the gate's about a call of the same person's agent", async () => {
    let allowed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CLOSED),
        fc.constantFrom(...ROLES),
        fc.subarray([...SCOPES], { minLength: 1 }),
        fc.constantFrom("agent:1", "job:1", undefined),
        fc.constantFrom(ANN, "bob" as PersonId, undefined),
        grants,
        async (route, role, scopes, target, of, given) => {
          const list = given.map(({ verdict, subject }) => ({ [verdict]: subject }) as unknown as Grant);
          const sender = await entering(route, tokenOf(scopes, role, list));
          const effect = sender?.asks?.effect;
          if (!sender || !effect || (target !== undefined && !reaches(sender, target, of))) return;
          allowed++;
          const people = [{ person: ANN, role, grants: list }];
          const about = target === undefined ? {} : { target, of };
          const atTheGate = decide({ ...effect, ...about, asked: undefined }, { people, kind: "user" }).verdict;
          expect(atTheGate, `${route.method} ${route.path}`).toBe("allow");
        },
      ),
      { numRuns: tries(3_000), seed: 7 },
    );
    expect(allowed).toBeGreaterThan(100);
  });

  it("is the gate's own for every role, kind of agent and action, if the token does not narrow it", () => {
    const actions = [...new Set(CLOSED.filter(({ own }) => own).map(({ action }) => action))];
    expect(actions).toContain("cron_add");
    for (const role of ROLES) {
      for (const action of actions) {
        for (const of of [ANN, "bob" as PersonId]) {
          const effect = { action, rights: ["write"] } as const;
          const { asks, ...token } = tokenOf(["chat"], role, []);
          const sender = { ...token, asks: { effect, people: asks?.people } };
          const overHttp = reaches(sender, "job:1", of);
          const people = [{ person: ANN, role, grants: [] }];
          for (const kind of AGENT_KINDS) {
            const atTheGate = decide({ ...effect, target: "job:1", of }, { people, kind, headless: true });
            // Kinds of agents deny more; what a person does is not done by an agent of some kind.
            if (atTheGate.person !== undefined || atTheGate.verdict === "allow")
              expect(overHttp, `${role} ${action} ${kind}`).toBe(atTheGate.verdict === "allow");
          }
        }
      }
    }
  });

  it("denies a person's token everything that belongs to the installation, whatever was granted", async () => {
    const all: readonly Grant[] = [{ allow: "*" }, { allow: "*(*)" }];
    for (const route of CLOSED.filter(({ own, access }) => !own && access !== "any")) {
      const sender = await entering(route, tokenOf([...SCOPES], "guest", all));
      expect(sender, `${route.method} ${route.path}`).toBeUndefined();
    }
  });
});
