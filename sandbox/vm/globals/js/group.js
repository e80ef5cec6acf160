// Object.groupBy and Map.groupBy.
(function () {
  Object.defineProperty(Object, "groupBy", {
    value: function groupBy(items, key) {
      const groups = Object.create(null);
      let i = 0;
      for (const item of items) {
        const k = key(item, i++);
        (groups[k] ??= []).push(item);
      }
      return groups;
    },
    writable: true, configurable: true,
  });
  Object.defineProperty(Map, "groupBy", {
    value: function groupBy(items, key) {
      const groups = new Map();
      let i = 0;
      for (const item of items) {
        const k = key(item, i++);
        if (groups.has(k)) groups.get(k).push(item);
        else groups.set(k, [item]);
      }
      return groups;
    },
    writable: true, configurable: true,
  });
})
