// Array.fromAsync.
(function () {
  Object.defineProperty(Array, "fromAsync", {
    value: async function fromAsync(items, map, self) {
      if (items === undefined || items === null) throw new TypeError("Array.fromAsync of null or undefined");
      if (map !== undefined && typeof map !== "function") throw new TypeError("Array.fromAsync: the second argument is no function");
      const list = [];
      const take = async (value) => {
        const item = map === undefined ? value : await map.call(self, value, list.length);
        Object.defineProperty(list, list.length, { value: item, writable: true, enumerable: true, configurable: true });
      };
      const asynchronous = items[Symbol.asyncIterator];
      if (asynchronous !== undefined && asynchronous !== null) {
        const it = asynchronous.call(items), next = it.next;
        for (;;) {
          const step = await next.call(it);
          if (Object(step) !== step) throw new TypeError("Array.fromAsync: next answered no object");
          if (step.done) return list;
          try {
            await take(step.value);
          } catch (error) {
            try { await it.return?.(); } catch { }
            throw error;
          }
        }
      }
      if (items[Symbol.iterator] !== undefined && items[Symbol.iterator] !== null) {
        for (const item of items) await take(await item);
        return list;
      }
      for (let i = 0; i < items.length; i++) await take(await items[i]);
      return list;
    },
    writable: true, configurable: true,
  });
})
