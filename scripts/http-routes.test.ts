import { expect, it } from "vitest";
import { ROUTES } from "../src/app/gateway/route-table.ts";
import { readPage, routesPage } from "./http-routes.ts";

it("writes every route into docs/reference/http.md", () => {
  expect(readPage() === routesPage(), "run npm run tool -- http --write").toBe(true);
  expect(routesPage().match(/^\| `[A-Z]+ \//gm)).toHaveLength(ROUTES.length);
});
