# One node of Rookery: slim, without root, everything it keeps under /data or in the store it is told.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN node scripts/build.ts && node scripts/install-optional.ts /packages && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production ROOKERY_HOME=/data ROOKERY_PACKAGES=/app/packages
RUN groupadd --system rookery && useradd --system --gid rookery --home-dir /data rookery && install -d -o rookery -g rookery -m 700 /data
WORKDIR /app
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY --from=build /packages/packages ./packages
USER rookery
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
