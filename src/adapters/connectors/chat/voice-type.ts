/** The media type of a recording as phones make it: Opus in Ogg. Chats show it as a voice message. */
export const VOICE_TYPE = /^audio\/ogg; *codecs=opus$|^audio\/opus$/u;
