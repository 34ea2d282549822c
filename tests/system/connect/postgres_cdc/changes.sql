-- Changes of every kind to them.
insert into wild values (default, true, -2, 3, 4, 1.1, 2.2, 12.3400, 1.5, 77, 12345, 12300, 1234.56,
 'x','ab','vc','vc9','text','name','c','CiText', '\x00ff10', B'1', B'10101', X'8000000000000001', B'1010101010101', B'101',
 '2020-02-29','12:34:56.789012','12:34:56.789','12:34:56.789012+02','12:34:56.78-03','2020-02-29 12:34:56.789012','2020-02-29 12:34:56','2020-02-29 12:34:56.789','2020-02-29 12:34:56.78901','2020-02-29 12:34:56.789012+02','2020-02-29 12:34:56.78-05','1 year 2 mons -3 days 04:05:06.789',
 '6f1d7b2e-0000-4000-8000-000000000001','{"a" : 1}','{"b":[1,2]}','<a>1</a>','10.1.2.3/8','10.1.0.0/16','08:00:2b:01:02:03','08:00:2b:01:02:03:04:05',
 '[1,5)','[1,5]','(1.5,]','[2020-01-01,2020-02-01)','[2020-01-01 00:00+00,2020-02-01 00:00+00)','[2020-01-01,2020-02-01)','{[1,3),[5,7)}',
 '(1.5,-2)','{1,2,3}','[(1,2),(3,4)]','(3,4),(1,2)','[(1,2),(3,4)]','((1,2),(3,4),(5,6))','<(1,2),3>',
 'a fat cat','fat & cat','a=>1, "b c"=>NULL, d=>"q\"x"','a.b.c','happy','(1,"x,y")',5,6.5,'short',
 4294967290,'wild','16/B374D848','777','3','(1,2)','900','10:20:10,14','$.a[*]',
 '{t,f,null}','{1,-2,null}','{1,2}','{9223372036854775807}','{1.5,NaN}','{1.5,-Infinity}','{1.50,2}','{1.5,2.25}','{1.50,$2.00}',
 '{a,bc}','{a,"b,c",null,"NULL",""}','{"te\"xt","back\\slash","{br}"}','{n1,n2}','{Ci,Te}','{"\\x00ff",null}','{101,111}','{1,0}','{1,01}','{2020-01-01,infinity}','{12:34:56.5}','{12:34:56+02}','{"2020-02-29 12:34:56.789012",infinity}','{"2020-02-29 12:34:56.789"}','{"2020-02-29 12:34:56.789012+02"}','{1 day}',
 '{6f1d7b2e-0000-4000-8000-000000000001}','{"{\"a\": 1}"}','{"{\"a\": 1}",null}','{<a/>}','{10.0.0.1}','{10.0.0.0/8}','{08:00:2b:01:02:03}','{"[1,2)"}','{"[1,2.5)"}','{"[2020-01-01,2020-02-01)"}','{"(1,2)"}','{"a=>1"}','{a.b,c}','{sad,ok}','{"(1,x)"}','{1,2}','{1.5}','{1,2}','{"a b"}','{{1,2},{3,4}}');
insert into wild (c_f4,c_f8,c_date,c_ts,c_tstz,c_ts3,c_tstz3,c_interval,c_time,c_timetz,c_money,c_hstore,c_num80,c_text,c_bytea,c_varbit,c_bit5,a_text,a_ts,c_num82,c_tsrange) values ('NaN','-Infinity','infinity','infinity','-infinity','-infinity','infinity','-1 mon +2 days -00:00:00.5','24:00:00','24:00:00+00',-0.01,'',-1,'','',B'',B'00000','{}','{-infinity}',0,'empty');
insert into wild (c_f4,c_f8,c_date,c_ts,c_tstz,c_ts3,c_tstz3,c_interval,c_time,c_timetz,c_money,a_date,a_f4,c_char5) values (3.4e38,1e-300,'0044-03-15 BC','0044-03-15 01:02:03 BC','0044-03-15 01:02:03+00 BC','99999-12-31','1969-12-31 23:59:59.999+00','00:00:00','00:00:00.000001','00:00:00.1-15:59',92233720368547758.07,'{"0044-03-15 BC"}','{Infinity}','äö');
insert into wild (c_num,c_interval,c_date) values ('123456789012345678901234567890.1234567890','178000000 years','-infinity'), (100,'P1Y2M3DT4H5M6.5S','1500-01-01'), (0.00,'-1 days','12345-01-01'), (-1e10,'1 mon','1900-02-28');
update wild set c_i4 = 99 where id = 2;
update wild set id = 1000 where id = 2;
delete from wild where id = 1000;
insert into nokey values (2,'b');
insert into composite values ('k',1,'v'); update composite set v='w'; update composite set a=2; delete from composite;
insert into defaulted (id, nt, now, u) values (1,'n','2020-01-01 00:00+00','6f1d7b2e-0000-4000-8000-00000000000a'); update defaulted set i=8; delete from defaulted; insert into defaulted (id, nt, t, d, by, u, h, bi, mo, f, c, n0, inet,now,tt,b1) values (2,'n', null, null, null, null, null, null,null,null,null,null,null,null,null,null); delete from defaulted;
insert into fullident values (1,'a',repeat('x',10)); update fullident set v='b'; update fullident set id=2 where id=1; delete from fullident;
insert into toasted values (1, repeat('x',2100), decode(repeat('ab',2100),'hex'), array[repeat('y',2100)], (select array_agg(i) from generate_series(1,600) i), ('{"a":"'||repeat('z',2100)||'"}')::jsonb, hstore('k',repeat('h',2100)), 1, repeat('n',2100));
update toasted set small=2; update toasted set id=2; delete from toasted;
insert into fullnokey values (1,'x'); update fullnokey set b='y'; delete from fullnokey;
insert into "Od.d Näme" values (1,'v',2,'m'); update "Od.d Näme" set "va-l"='w'; delete from "Od.d Näme";
insert into byindex values (1,'u','v'); update byindex set v='w'; update byindex set u=$$u2$$ where k=1; update byindex set k=2 where k=1; delete from byindex;
begin; insert into nokey values (3,'c'); insert into composite values ('z',9,null); savepoint s; insert into nokey values (4,'d'); rollback to s; insert into nokey values (5,'e'); commit;
truncate nokey, composite;
select pg_logical_emit_message(true,'pre','content'), pg_logical_emit_message(false,'pre2','content2');
alter table composite add column extra int default 5; insert into composite values ('q',1,'v',default);
delete from strict;
