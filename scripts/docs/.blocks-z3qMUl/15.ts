import { createRookery } from "rookery";

const rookery = await createRookery({ home: "/tmp/rookery-search", model: "offline" });
await rookery.agent("ann").ask("The dentist is on Friday.");
const { items } = await rookery.search("dentist");
console.log(items[0]?.snippet);
await rookery.close();