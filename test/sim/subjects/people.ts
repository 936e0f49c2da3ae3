/** The people of the world, as the program is configured. */

/** The first person of the workload is the owner: schedules speak to this person. Everyone else is a guest. */
export const PEOPLE = {
  isOwner: ({ userId }: { readonly userId: string }): boolean => userId === "u1",
  unknown: "guest",
} as const;
