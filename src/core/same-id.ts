/**
 * Ids from outside in the form in which they are compared. One letter can be written as one character or as two: both are the same
 * letter, and systems send either, so ids are compared in the form NFC.
 */

export const sameForm = (id: string): string => id.normalize("NFC");

/** Also without blanks around it and in lower case: for ids of channels, where case does not count. */
// A lower-case letter may have another form than its capital.
export const foldedId = (id: string): string => sameForm(sameForm(id).trim().toLowerCase());
