// in: mutate
// expect: phase.forbidden
await Promise.allSettled([ctx.mail.search({})]);
