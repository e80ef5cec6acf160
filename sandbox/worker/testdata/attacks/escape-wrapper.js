// in: describe
// expect: script.syntax
});(function(){
