// What a customer pastes before </head>, with the addresses filled in and these lines left out: see
// src/snippet.rs. It must not fail in any browser, hence the old JavaScript.
(function(w,d){
// Pasted twice, it acts once. An element with the id "svctrack" is no tracker.
if(w.svctrack&&w.svctrack.load)return;
var s=w.svctrack={q:[]};
// Until the script is there, calls are queued with their arguments and the time of each.
function stub(m){s[m]=function(){s.q.push([m,arguments,+new Date])}}
stub("init");stub("identify");stub("track");stub("load");stub("reset");stub("consent");
var keep=s.load;
s.load=function(){
keep.apply(s,arguments);
if(s.tag)return;
var t=s.tag=d.createElement("script");
t.async=true;
// Only where this very version is wanted. The script is of another origin, so its hash needs CORS.
t.integrity="{{integrity}}";t.crossOrigin="anonymous";
t.src="{{script}}";
(d.head||d.documentElement).appendChild(t)
}
})(window,document);
svctrack.load("{{endpoint}}");
