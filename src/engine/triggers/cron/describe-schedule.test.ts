import { describe, expect, test } from "vitest";
import { describeSchedule } from "./describe-schedule.ts";

const cron = (expr: string): string => describeSchedule({ kind: "cron", expr }, "UTC");

describe("a schedule as a sentence", () => {
  test.each([
    ["* * * * *", "Every minute (UTC)"],
    ["* * * * * *", "Every second (UTC)"],
    ["*/10 * * * * *", "Every 10 seconds (UTC)"],
    ["*/15 * * * *", "Every 15 minutes (UTC)"],
    ["0 9 * * 1-5", "At 09:00 on Monday to Friday (UTC)"],
    ["5 9,17 * * *", "At 09:05 and 17:05 (UTC)"],
    ["5 9,12,17 * * *", "At 09:05, 12:05 and 17:05 (UTC)"],
    ["30 * * * *", "At minute 30 of every hour (UTC)"],
    ["30 */6 * * *", "At minute 30 of every 6th hour (UTC)"],
    ["* 9-17 * * *", "Every minute in the hours 09:00 to 17:00 (UTC)"],
    ["*/5 9 * * *", "Every 5 minutes in the hours 09:00 (UTC)"],
    ["0 0 L * *", "At 00:00 on the last day of the month (UTC)"],
    ["0 0 1 1 *", "At 00:00 on day 1 in January (UTC)"],
    ["0 0 1,15 * 0", "At 00:00 on day 1 and day 15 or Sunday (UTC)"],
    ["0 0 ? 6,7 ?", "At 00:00 in June and July (UTC)"],
    ["0 8 * * 7", "At 08:00 on Sunday (UTC)"],
    ["@daily", "At 00:00 (UTC)"],
    ["@WEEKLY", "At 00:00 on Sunday (UTC)"],
    ["@hourly", "At minute 0 of every hour (UTC)"],
    ["@yearly", "At 00:00 on day 1 in January (UTC)"],
    ["@annually", "At 00:00 on day 1 in January (UTC)"],
    ["@monthly", "At 00:00 on day 1 (UTC)"],
    ["@midnight", "At 00:00 (UTC)"],
    [" 0 30 9 * * * ", "At 09:30 (UTC)"],
    ["0 0 * * *", "At 00:00 (UTC)"],
    ["07 09 * * *", "At 09:07 (UTC)"],
    ["* 9 * * *", "Every minute in the hours 09:00 (UTC)"],
    ["0 9 05 * *", "At 09:00 on day 5 (UTC)"],
    ["0 9 * 3-5,7 *", "At 09:00 in March to May and July (UTC)"],
    ["0 9 * * 9", "At 09:00 on 9 (UTC)"],
    ["0 9 * 13 *", "At 09:00 in 13 (UTC)"],
    ["0 9 * 1,2,3,4,5 *", "At 09:00 in January, February, March, April and May (UTC)"],
    ["0 9 * 6,8,9,10,11,12 *", "At 09:00 in June, August, September, October, November and December (UTC)"],
    ["0 9 * * 1,2,3,4,5,6", "At 09:00 on Monday, Tuesday, Wednesday, Thursday, Friday and Saturday (UTC)"],
  ])("%s: %s", (expr, wanted) => {
    expect(cron(expr)).toBe(wanted);
  });

  test.each([
    ...["5 * * * * *", "1-5 * * * * *", "*/10 5 * * * *", "*/5 */2 * * *", "* */2 * * *", "7,8 9 * * *", "0 9-x * * *"],
    ...["0 9 ,1 * *", "0 9 * -1 *", "@reboot", "0 */x * * *"],
  ])("%s is quoted too", (expr) => {
    expect(cron(expr)).toBe(`By the cron expression "${expr}" (UTC)`);
  });

  test.each(["5 0 9 * * *", "0 9 * * MON", "0 9 1-2-3 * *", "1-5 9 * * *", "0 9 * * 1-x", "0 9 , * *", "0 9 * JAN *"])(
    "%s is quoted as it is",
    (expr) => {
      expect(cron(expr)).toBe(`By the cron expression "${expr}" (UTC)`);
    },
  );

  test("of one time or an interval says when, and the zone of the schedule comes first", () => {
    const atMs = Date.parse("2026-01-05T08:00:09Z");
    expect(describeSchedule({ kind: "at", atMs }, "Europe/Berlin")).toBe(
      "Once, on 2026-01-05 09:00:09 (Europe/Berlin)",
    );
    expect(describeSchedule({ kind: "every", everyMs: 1_800_000 }, "UTC")).toBe("Every 30 minutes");
    expect(describeSchedule({ kind: "cron", expr: "@daily", tz: "Asia/Tokyo" }, "UTC")).toBe("At 00:00 (Asia/Tokyo)");
  });

  test.each([
    [604_800_000, "week"],
    [2 * 604_800_000, "2 weeks"],
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [5_400_000, "90 minutes"],
    [60_000, "minute"],
    [1_000, "second"],
    [1_500, "1500 milliseconds"],
    [1, "millisecond"],
  ])("%i ms is %s", (everyMs, text) => {
    expect(describeSchedule({ kind: "every", everyMs }, "UTC")).toBe(`Every ${text}`);
  });
});
