/** Starts the control room. */
import { render } from "preact";
import { App } from "./app.tsx";
import { isSignInLink, onLoginElsewhere, signIn } from "./session.ts";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/chat.css";
import "./styles/views.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
void signIn();
addEventListener("storage", onLoginElsewhere);
// Another link, in a tab that is already open.
addEventListener("hashchange", () => {
  if (isSignInLink(location.hash)) void signIn();
});
