/** A thousand agents in one process: each has its own inbox, history and answers. */
import { createRookery } from "rookery";
import { lastText, scripted } from "rookery/testing";

const COUNT = Number(process.env.COUNT ?? 1_000);
await using rookery = await createRookery({
  home: "memory",
  model: scripted(({ request }) => `hello ${lastText(request)}`),
});
const names = Array.from({ length: COUNT }, (_, n) => `user-${n}`);
const answers = await Promise.all(names.map((name) => rookery.agent(name).ask(name)));
console.log(
  `${answers.filter((answer, n) => answer === `hello ${names[n]}`).length} of ${COUNT} agents answered their own user`,
);
