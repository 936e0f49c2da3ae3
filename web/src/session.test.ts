import { describe, expect, it } from "vitest";
import { countTo, lastTo, pass, settle } from "./page.test-kit.ts";

const { keepLogin } = await import("./login.ts");
const { onLoginElsewhere, session, showSession, signIn, signOut } = await import("./session.ts");

const ME = "/api/me";
const me = (name: string) => ({ person: null, name, isOwner: true, scopes: [], login: "l1" });

/** The client tries a few times before it gives up. */
async function loseAll(): Promise<void> {
  for (let n = 0; n < 20 && session.value.state !== "away"; n++) {
    await lastTo(ME).lose();
    if (session.peek().state !== "away") await pass(1_000);
  }
}

describe("signing in", () => {
  it("waits for an engine that is away, and continues by itself", async () => {
    void showSession();
    await settle();
    await loseAll();
    expect(session.value).toEqual({ state: "away" });
    await pass(2_000);
    await lastTo(ME).answer(me("owner"));
    expect(session.value).toMatchObject({ state: "in", me: { name: "owner" } });
    const before = countTo(ME);
    await pass(60_000);
    expect(countTo(ME)).toBe(before);
  });

  it("shows the later of two answers, whichever comes first", async () => {
    void showSession();
    await settle();
    const first = lastTo(ME);
    void showSession();
    await settle();
    await lastTo(ME).answer(me("new"));
    await first.answer(me("old"));
    expect(session.value).toMatchObject({ me: { name: "new" } });
  });

  it("says why a link does not work, and keeps it out of the address", async () => {
    location.hash = "#code=used";
    void signIn();
    await settle();
    await lastTo("/api/logins", "POST").refuse(401, "unauthorized", "The code was used.");
    await lastTo(ME).refuse(401, "unauthorized");
    expect(session.value).toEqual({ state: "out", problem: "The code was used." });
    location.hash = "";
  });

  it("follows a sign-in in another tab only if its own login has ended", async () => {
    keepLogin("rs_one");
    void showSession();
    await settle();
    await lastTo(ME).answer(me("owner"));
    localStorage.setItem("rookery-login http://127.0.0.1:7", "rs_two");
    const before = countTo(ME);
    onLoginElsewhere();
    await settle();
    expect(countTo(ME)).toBe(before);
    void signOut();
    await settle();
    await lastTo("/api/logins/l1", "DELETE").answer({});
    expect(session.value).toEqual({ state: "out" });
    localStorage.setItem("rookery-login http://127.0.0.1:7", "rs_two");
    onLoginElsewhere();
    await settle();
    expect(lastTo(ME).headers.get("rookery-login")).toBe("rs_two");
  });
});
