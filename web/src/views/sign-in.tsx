/** The page before sign-in: says what to type, and shows no details of the installation. */
import { session, showSession } from "../session.ts";
import { t } from "../texts.ts";
import { Icon } from "../ui/icons.tsx";
import { Button } from "../ui/parts.tsx";
import { Mark } from "../ui/shell.tsx";

export function SignIn() {
  const now = session.value;
  if (now.state === "loading") {
    return (
      <main class="sign-in" aria-busy="true">
        <Mark />
        <p class="muted">{t.signIn.loading}</p>
      </main>
    );
  }
  if (now.state === "away") {
    return (
      <main class="sign-in">
        <Mark />
        <p role="status">{t.signIn.away}</p>
      </main>
    );
  }
  if (now.state === "invited") {
    return (
      <main class="sign-in">
        <div class="sign-in-card">
          <Mark />
          <h1>{t.signIn.invited}</h1>
          <p>{t.signIn.inviteAs(now.name)}</p>
          <Button kind="primary" onClick={now.accept}>
            {t.signIn.accept}
          </Button>
          <Button onClick={() => showSession()}>{t.signIn.decline}</Button>
          <p class="muted">{t.signIn.once}</p>
        </div>
      </main>
    );
  }
  const problem = now.state === "out" ? now.problem : undefined;
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>{t.signIn.title}</h1>
        {problem === undefined ? (
          <p>{t.signIn.lead}</p>
        ) : (
          <p class="problem-text" role="alert">
            <Icon name="alert" /> {problem}
          </p>
        )}
        <p>{t.signIn.how}</p>
        <pre class="command">{t.signIn.command}</pre>
        <p class="muted">{t.signIn.fromClone}</p>
        <p>{t.signIn.afterwards}</p>
        <p class="muted">{t.signIn.guest}</p>
      </div>
    </main>
  );
}
