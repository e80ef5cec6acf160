package sandbox
import ("testing";"os";"strings";"fmt")
func TestZZ(t *testing.T){
 b,_:=os.ReadFile(os.Getenv("ZZ")); e:=NewInProcess(Config{})
 for _,l:=range strings.Split(strings.TrimSpace(string(b)),"\n"){
  call:=invocationOf(Prepare,l); r,err:=e.Invoke(t.Context(),call,world)
  if err!=nil {fmt.Println("ERR",err.Error())} else {fmt.Println(string(r.Value))}
 }}
